# A job's whole life through the client that OpenAPI Generator writes for Ruby.
# What it writes leaves `nil` out of lists, and reads the keys of objects as symbols.
require 'dibs_client'
require 'uri'

QUEUE = 'sdk.ruby'
PAYLOAD = { text: 'Grüße', list: [1, 2.5], none: nil }

def check(holds, what)
  raise "not so: #{what}" unless holds
end

# What a refusal says. The generator leaves its body as text.
def refusal
  yield
  raise 'no problem was answered'
rescue Dibs::ApiError => e
  Dibs::Problem.build_from_hash(JSON.parse(e.response_body))
end

url = URI.parse(ARGV.fetch(0))
configuration = Dibs::Configuration.new do |config|
  config.scheme = url.scheme
  config.host = "#{url.host}:#{url.port}"
  config.server_index = nil
end
client = Dibs::ApiClient.new(configuration)
producing, consuming = Dibs::ProducingApi.new(client), Dibs::ConsumingApi.new(client)
jobs, queues = Dibs::JobsApi.new(client), Dibs::QueuesApi.new(client)
batches = Dibs::BatchesApi.new(client)

backoff = Dibs::Backoff.new(kind: Dibs::BackoffKind::CONSTANT, base_seconds: 0.25)
config = Dibs::QueueConfig.new(lease_seconds: 60, backoff: backoff)
queue = queues.configure_queue(QUEUE, config)
check(queue.config.lease_seconds == 60, 'the lease is configured')
check(queue.config.backoff.kind == Dibs::BackoffKind::CONSTANT, 'the backoff is configured')
check(queue.oldest_ready_age_seconds.nil?, 'no job waits')

spec = Dibs::JobSpec.new(queue: QUEUE, payload: PAYLOAD, headers: { 'tenant' => 'a' }, priority: 5)
job = producing.enqueue_job(spec)
check(job.state == Dibs::JobState::READY && job.priority == 5 && job.lease_expires_at.nil?, 'the job is ready')
specs = (0..2).map { |i| Dibs::JobSpec.new(queue: QUEUE, payload: i) }
batch = producing.enqueue_jobs(Dibs::JobSpecList.new(jobs: specs)).jobs
check(batch.length == 3, 'the batch is enqueued')

check(queues.pause_queue(QUEUE).paused, 'the queue is paused')
check(!queues.resume_queue(QUEUE).paused, 'the queue is resumed')
check(queues.get_queue(QUEUE).counts.ready == 4, 'four jobs are ready')
check(queues.list_queues.queues.map(&:name).include?(QUEUE), 'the queue is listed')

request = Dibs::ClaimRequest.new(queues: [QUEUE], limit: 4, worker: 'ruby')
first, second, third, fourth = consuming.claim_jobs(claim_request: request).jobs
check(first.id == job.id && first.payload == PAYLOAD, 'the payload comes back')
check(first.headers == { 'tenant' => 'a' }, 'the headers come back')
check([second, third, fourth].map(&:payload) == [0, 1, 2], 'the jobs come in order')
check(first.lease_expires_at > Time.now, 'the lease runs')

extend = Dibs::ExtendRequest.new(lease_token: first.lease_token, lease_seconds: 120, progress: { 'done' => 1 })
extended = consuming.extend_lease(first.id, extend)
check(extended.lease_expires_at > first.lease_expires_at, 'the lease is extended')
looked = jobs.get_job(first.id)
check(looked.state == Dibs::JobState::LEASED && looked.payload == PAYLOAD, 'the job is leased')

ack = Dibs::AckRequest.new(lease_token: first.lease_token, result: [true])
check(consuming.ack_job(first.id, ack).state == Dibs::JobState::COMPLETED, 'the first job is done')
nack = Dibs::NackRequest.new(lease_token: second.lease_token, error: 'no luck', delay_seconds: 3600)
nacked = consuming.nack_job(second.id, nack)
check(nacked.state == Dibs::JobState::SCHEDULED && nacked.last_error == 'no luck', 'the second job rests')
settled = consuming.settle_jobs(Dibs::SettleRequest.new(
  acks: [
    Dibs::AckItem.new(id: third.id, lease_token: third.lease_token),
    Dibs::AckItem.new(id: fourth.id, lease_token: 'stale')
  ],
  nacks: [Dibs::NackItem.new(id: fourth.id, lease_token: fourth.lease_token, _retry: false)]
))
check(settled.acks.map(&:status) == [200, 409], 'one of two acks counts')
check(settled.acks[1].problem.code == 'lease_lost', 'the other one is stale')
check(settled.nacks[0].state == Dibs::JobState::DEAD, 'the fourth job is dead')

page = jobs.list_jobs(queue: QUEUE, state: Dibs::JobState::DEAD, include: 'payload')
check(page.jobs.map(&:payload) == [2] && page.next_cursor.nil?, 'the dead job is listed')

follower = Dibs::JobSpec.new(queue: QUEUE, payload: 'all done')
opened = batches.create_batch(Dibs::BatchSpec.new(queue: QUEUE, on_success: follower))
check(opened.state == Dibs::BatchState::OPEN, 'the batch is open')
check(opened.followers == [Dibs::BatchFollower::ON_SUCCESS], 'it has a follower')
member = producing.enqueue_job(Dibs::JobSpec.new(queue: QUEUE, batch: opened.id))
check(member.batch == opened.id, 'the job is in the batch')
check(batches.close_batch(opened.id).state == Dibs::BatchState::RUNNING, 'the batch is closed')
leased, = consuming.claim_jobs(claim_request: Dibs::ClaimRequest.new(queues: [QUEUE])).jobs
check(leased.id == member.id, 'the job of the batch is claimed')
consuming.ack_job(leased.id, Dibs::AckRequest.new(lease_token: leased.lease_token))
ended = batches.get_batch(opened.id)
check(ended.state == Dibs::BatchState::SUCCEEDED && ended.counts.completed == 1, 'the batch has succeeded')
ready = jobs.list_jobs(queue: QUEUE, state: Dibs::JobState::READY, include: 'payload').jobs
check(ready.map(&:payload) == ['all done'], 'the follower is enqueued')

gone = refusal { jobs.get_job(first.id) }
check(gone.status == 404 && gone.code == 'job_not_found', 'the first job is gone')
wrong = refusal { producing.enqueue_job(Dibs::JobSpec.new(delay_seconds: 1, run_at: Time.now)) }
check(wrong.code == 'invalid_request' && wrong.errors[0].path == '/run_at', 'two times are one too many')

puts 'the cycle is done'
