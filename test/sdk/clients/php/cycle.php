<?php
// A job's whole life through the client that OpenAPI Generator writes for PHP. Arguments: the generated folder, the URL.

use Dibs\Api\BatchesApi;
use Dibs\Api\ConsumingApi;
use Dibs\Api\JobsApi;
use Dibs\Api\ProducingApi;
use Dibs\Api\QueuesApi;
use Dibs\ApiException;
use Dibs\Configuration;
use Dibs\Model;

[, $generated, $url] = $argv;
// Debian's package of Guzzle.
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class) use ($generated) {
    if (str_starts_with($class, 'Dibs\\')) {
        require $generated . '/lib/' . str_replace('\\', '/', substr($class, 5)) . '.php';
    }
});

function check(bool $true, string $what): void
{
    if (!$true) {
        throw new Exception("not true: $what");
    }
}

function refusal(callable $call): Model\Problem
{
    try {
        $call();
    } catch (ApiException $error) {
        return $error->getResponseObject();
    }
    throw new Exception('no problem was answered');
}

$config = (new Configuration())->setHost($url);
$http = new GuzzleHttp\Client();
$producing = new ProducingApi($http, $config);
$consuming = new ConsumingApi($http, $config);
$jobs = new JobsApi($http, $config);
$queues = new QueuesApi($http, $config);
$batches = new BatchesApi($http, $config);
const QUEUE = 'sdk.php';

$backoff = new Model\Backoff(['kind' => Model\BackoffKind::CONSTANT, 'base_seconds' => 0.25]);
$queue = $queues->configureQueue(QUEUE, new Model\QueueConfig(['lease_seconds' => 60, 'backoff' => $backoff]));
check($queue->getConfig()->getLeaseSeconds() == 60, 'lease_seconds');
check($queue->getOldestReadyAgeSeconds() === null, 'oldest_ready_age_seconds');

$payload = ['text' => 'Grüße', 'list' => [1, 2.5, null]];
$spec = ['queue' => QUEUE, 'payload' => $payload, 'headers' => ['tenant' => 'a'], 'priority' => 5];
$job = $producing->enqueueJob(new Model\JobSpec($spec));
check($job->getState() === Model\JobState::READY && $job->getPriority() === 5, 'an enqueued job');
$specs = array_map(fn ($n) => new Model\JobSpec(['queue' => QUEUE, 'payload' => $n]), [0, 1, 2]);
check(count($producing->enqueueJobs(new Model\JobSpecList(['jobs' => $specs]))->getJobs()) === 3, 'a batch');

check($queues->pauseQueue(QUEUE)->getPaused(), 'paused');
check(!$queues->resumeQueue(QUEUE)->getPaused(), 'resumed');
check($queues->getQueue(QUEUE)->getCounts()->getReady() === 4, 'counts');
$names = array_map(fn ($queue) => $queue->getName(), $queues->listQueues()->getQueues());
check(in_array(QUEUE, $names), 'the list of queues');

$request = new Model\ClaimRequest(['queues' => [QUEUE], 'limit' => 4, 'worker' => 'php', 'claim_id' => 'php-1']);
[$first, $second, $third, $fourth] = $consuming->claimJobs($request)->getJobs();
check($first->getId() === $job->getId(), 'the first job');
check(json_encode($first->getPayload()) === json_encode($payload), 'its payload');
check($first->getHeaders() == ['tenant' => 'a'], 'its headers');

$extend = ['lease_token' => $first->getLeaseToken(), 'lease_seconds' => 120, 'progress' => ['done' => 1]];
$extended = $consuming->extendLease($first->getId(), new Model\ExtendRequest($extend));
check($extended->getLeaseExpiresAt() > $first->getLeaseExpiresAt(), 'extended');
check($jobs->getJob($first->getId())->getState() === Model\JobState::LEASED, 'leased');

$ack = new Model\AckRequest(['lease_token' => $first->getLeaseToken(), 'result' => [true]]);
check($consuming->ackJob($first->getId(), $ack)->getState() === Model\JobState::COMPLETED, 'acked');
$nack = ['lease_token' => $second->getLeaseToken(), 'error' => 'no luck', 'delay_seconds' => 3600];
$nacked = $consuming->nackJob($second->getId(), new Model\NackRequest($nack));
check($nacked->getState() === Model\JobState::SCHEDULED && $nacked->getLastError() === 'no luck', 'nacked');
$settled = $consuming->settleJobs(new Model\SettleRequest([
    'acks' => [
        new Model\AckItem(['id' => $third->getId(), 'lease_token' => $third->getLeaseToken()]),
        new Model\AckItem(['id' => $fourth->getId(), 'lease_token' => 'stale']),
    ],
    'nacks' => [
        new Model\NackItem(['id' => $fourth->getId(), 'lease_token' => $fourth->getLeaseToken(), 'retry' => false]),
    ],
]));
check(array_map(fn ($result) => $result->getStatus(), $settled->getAcks()) === [200, 409], 'settled');
check($settled->getAcks()[1]->getProblem()->getCode() === 'lease_lost', 'lease_lost');

$page = $jobs->listJobs(queue: QUEUE, state: Model\JobState::DEAD, include: 'payload');
check(count($page->getJobs()) === 1 && $page->getJobs()[0]->getPayload() === 2, 'the list of jobs');

$follower = new Model\JobSpec(['queue' => QUEUE, 'payload' => 'all done']);
$opened = $batches->createBatch(new Model\BatchSpec(['queue' => QUEUE, 'on_success' => $follower]));
check($opened->getState() === Model\BatchState::OPEN, 'an open batch');
check($opened->getFollowers() === [Model\BatchFollower::ON_SUCCESS], 'its follower');
$member = $producing->enqueueJob(new Model\JobSpec(['queue' => QUEUE, 'batch' => $opened->getId()]));
check($member->getBatch() === $opened->getId(), 'a job of the batch');
check($batches->closeBatch($opened->getId())->getState() === Model\BatchState::RUNNING, 'a closed batch');
[$leased] = $consuming->claimJobs(new Model\ClaimRequest(['queues' => [QUEUE]]))->getJobs();
check($leased->getId() === $member->getId(), 'the job of the batch is claimed');
$consuming->ackJob($leased->getId(), new Model\AckRequest(['lease_token' => $leased->getLeaseToken()]));
$ended = $batches->getBatch($opened->getId());
check($ended->getState() === Model\BatchState::SUCCEEDED, 'a batch that succeeded');
check($ended->getCounts()->getCompleted() === 1 && $ended->getFollowers() === [], 'its counts');
$ready = $jobs->listJobs(queue: QUEUE, state: Model\JobState::READY, include: 'payload')->getJobs();
check(count($ready) === 1 && $ready[0]->getPayload() === 'all done', 'the follower is enqueued');

check(refusal(fn () => $jobs->getJob($first->getId()))->getCode() === 'job_not_found', 'job_not_found');
$both = new Model\JobSpec(['delay_seconds' => 1, 'run_at' => new DateTime()]);
$wrong = refusal(fn () => $producing->enqueueJob($both));
check($wrong->getErrors()[0]->getPath() === '/run_at', 'the path of a bad field');

echo "the cycle is done\n";
