import com.google.gson.JsonParser;
import dibs.ApiClient;
import dibs.ApiException;
import dibs.JSON;
import dibs.api.BatchesApi;
import dibs.api.ConsumingApi;
import dibs.api.JobsApi;
import dibs.api.ProducingApi;
import dibs.api.QueuesApi;
import dibs.model.*;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A job's whole life through the client that OpenAPI Generator writes for Java. */
class Cycle {
  static final String QUEUE = "sdk.java";

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError("not so: " + what);
  }

  interface Call {
    void run() throws ApiException;
  }

  static Problem refusal(Call call) {
    try {
      call.run();
    } catch (ApiException error) {
      return JSON.deserialize(error.getResponseBody(), Problem.class);
    }
    throw new AssertionError("no problem was answered");
  }

  static boolean sameJson(Object left, Object right) {
    return JsonParser.parseString(JSON.serialize(left)).equals(JsonParser.parseString(JSON.serialize(right)));
  }

  /** The generator gives an operation all of its parameters, in order. */
  static JobPage list(JobsApi jobs, JobState state) throws ApiException {
    return jobs.listJobs(
        QUEUE, state, null, null, null, null, null, null, null, null, null, "payload", null, null, null, null);
  }

  public static void main(String[] arguments) throws ApiException {
    ApiClient client = new ApiClient().setBasePath(arguments[0]);
    ProducingApi producing = new ProducingApi(client);
    ConsumingApi consuming = new ConsumingApi(client);
    JobsApi jobs = new JobsApi(client);
    QueuesApi queues = new QueuesApi(client);
    BatchesApi batches = new BatchesApi(client);
    Map<String, Object> payload = Map.of("text", "Grüße", "list", Arrays.asList(1, 2.5, null));

    Queue queue = queues.configureQueue(QUEUE, new QueueConfig()
        .leaseSeconds(60.0)
        .backoff(new Backoff().kind(BackoffKind.CONSTANT).baseSeconds(0.25)));
    check(queue.getConfig().getLeaseSeconds() == 60, "the lease is configured");
    check(queue.getConfig().getBackoff().getKind() == BackoffKind.CONSTANT, "the backoff is configured");
    check(queue.getOldestReadyAgeSeconds() == null, "no job waits");

    JobSpec spec = new JobSpec().queue(QUEUE).payload(payload).headers(Map.of("tenant", "a")).priority(5);
    Job job = producing.enqueueJob(spec, "java-1", null);
    check(producing.enqueueJob(spec, "java-1", null).getId().equals(job.getId()), "a repeated enqueue is answered the same");
    check(job.getState() == JobState.READY && job.getPriority() == 5, "the job is ready");
    check(job.getLeaseExpiresAt() == null, "nobody holds the job");
    JobSpecList specs = new JobSpecList();
    for (int i = 0; i < 3; i++) specs.addJobsItem(new JobSpec().queue(QUEUE).payload(i));
    check(producing.enqueueJobs(specs, null).getJobs().size() == 3, "the batch is enqueued");

    check(queues.pauseQueue(QUEUE).getPaused(), "the queue is paused");
    check(!queues.resumeQueue(QUEUE).getPaused(), "the queue is resumed");
    check(queues.getQueue(QUEUE).getCounts().getReady() == 4, "four jobs are ready");
    check(queues.listQueues(null, 10, null).getQueues().size() > 0, "the queue is listed");

    List<LeasedJob> claimed =
        consuming.claimJobs(new ClaimRequest().queues(List.of(QUEUE)).limit(4).worker("java")).getJobs();
    check(claimed.size() == 4, "four jobs are claimed");
    LeasedJob first = claimed.get(0), second = claimed.get(1), third = claimed.get(2), fourth = claimed.get(3);
    check(first.getId().equals(job.getId()) && sameJson(first.getPayload(), payload), "the payload comes back");
    check(first.getHeaders().equals(Map.of("tenant", "a")), "the headers come back");
    check(first.getLeaseExpiresAt().isAfter(OffsetDateTime.now()), "the lease runs");

    Extended extended = consuming.extendLease(first.getId(), new ExtendRequest()
        .leaseToken(first.getLeaseToken()).leaseSeconds(120.0).progress(Map.of("done", true)));
    check(extended.getLeaseExpiresAt().isAfter(first.getLeaseExpiresAt()), "the lease is extended");
    Job looked = jobs.getJob(first.getId(), null, null);
    check(looked.getState() == JobState.LEASED, "the job is leased");
    check(sameJson(looked.getProgress(), Map.of("done", true)), "the progress is seen");

    Acked acked = consuming.ackJob(first.getId(),
        new AckRequest().leaseToken(first.getLeaseToken()).result(List.of(true)));
    check(acked.getState() == JobState.COMPLETED, "the first job is done");
    Job nacked = consuming.nackJob(second.getId(),
        new NackRequest().leaseToken(second.getLeaseToken()).error("no luck").delaySeconds(3600.0));
    check(nacked.getState() == JobState.SCHEDULED, "the second job rests");
    check(nacked.getLastError().equals("no luck"), "the error is kept");
    SettleResults settled = consuming.settleJobs(new SettleRequest()
        .addAcksItem(new AckItem().id(third.getId()).leaseToken(third.getLeaseToken()))
        .addAcksItem(new AckItem().id(fourth.getId()).leaseToken("stale"))
        .addNacksItem(new NackItem().id(fourth.getId()).leaseToken(fourth.getLeaseToken()).retry(false)));
    check(settled.getAcks().get(0).getStatus() == 200, "the first ack counts");
    check(settled.getAcks().get(1).getProblem().getCode().equals("lease_lost"), "the stale ack doesn't");
    check(settled.getNacks().get(0).getState() == JobState.DEAD, "the fourth job is dead");

    JobPage page = list(jobs, JobState.DEAD);
    check(page.getJobs().size() == 1 && page.getNextCursor() == null, "the dead job is listed");
    check(((Number) page.getJobs().get(0).getPayload()).intValue() == 2, "with its payload");

    BatchSpec followed = new BatchSpec().queue(QUEUE).onSuccess(new JobSpec().queue(QUEUE).payload("all done"));
    Batch opened = batches.createBatch(followed, null);
    check(opened.getState() == BatchState.OPEN, "the batch is open");
    check(opened.getFollowers().equals(List.of(BatchFollower.ON_SUCCESS)), "it has a follower");
    Job member = producing.enqueueJob(new JobSpec().queue(QUEUE).batch(opened.getId()), null, null);
    check(member.getBatch().equals(opened.getId()), "the job is in the batch");
    check(batches.closeBatch(opened.getId()).getState() == BatchState.RUNNING, "the batch is closed");
    LeasedJob leased = consuming.claimJobs(new ClaimRequest().queues(List.of(QUEUE))).getJobs().get(0);
    check(leased.getId().equals(member.getId()), "the job of the batch is claimed");
    consuming.ackJob(leased.getId(), new AckRequest().leaseToken(leased.getLeaseToken()));
    Batch ended = batches.getBatch(opened.getId(), null);
    check(ended.getState() == BatchState.SUCCEEDED && ended.getCounts().getCompleted() == 1, "the batch has succeeded");
    List<Job> ready = list(jobs, JobState.READY).getJobs();
    check(ready.size() == 1 && ready.get(0).getPayload().equals("all done"), "the follower is enqueued");

    Problem gone = refusal(() -> jobs.getJob(first.getId(), null, null));
    check(gone.getStatus() == 404 && gone.getCode().equals("job_not_found"), "the first job is gone");
    Problem wrong = refusal(
        () -> producing.enqueueJob(new JobSpec().delaySeconds(1.0).runAt(OffsetDateTime.now()), null, null));
    check(wrong.getErrors().get(0).getPath().equals("/run_at"), "two times are one too many");

    System.out.println("the cycle is done");
    System.exit(0);
  }
}
