using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Threading.Tasks;
using Dibs.Api;
using Dibs.Client;
using Dibs.Extensions;
using Dibs.Model;
using Microsoft.Extensions.DependencyInjection;

/// <summary>A job's whole life through the client that OpenAPI Generator writes for C#.</summary>
static class Cycle
{
    const string QUEUE = "sdk.csharp";

    static void Check(bool holds, string what)
    {
        if (!holds) throw new Exception("not so: " + what);
    }

    static bool SameJson(object left, object right) => JsonSerializer.Serialize(left) == JsonSerializer.Serialize(right);

    static async Task Main(string[] arguments)
    {
        var snakeCase = new JsonStringEnumConverter(JsonNamingPolicy.SnakeCaseLower);
        var collection = new ServiceCollection();
        collection.AddLogging();
        collection.AddApi(options => options
            .AddTokens(new BearerToken("not looked at"))
            // Else arrays of an enum have its names of C#: `OnSuccess` for `on_success`.
            .ConfigureJsonOptions(json => json.Converters.Insert(0, snakeCase))
            .AddApiHttpClients(client => client.BaseAddress = new Uri(arguments[0])));
        using var services = collection.BuildServiceProvider();
        var producing = services.GetRequiredService<IProducingApi>();
        var consuming = services.GetRequiredService<IConsumingApi>();
        var jobs = services.GetRequiredService<IJobsApi>();
        var queues = services.GetRequiredService<IQueuesApi>();
        var batches = services.GetRequiredService<IBatchesApi>();
        var payload = new { text = "Grüße", list = new object[] { 1, 2.5, null } };

        var config = new QueueConfig(leaseSeconds: 60, backoff: new Backoff(BackoffKind.Constant, baseSeconds: 0.25));
        Queue queue = (await queues.ConfigureQueueAsync(QUEUE, config)).Ok();
        Check(queue.Config.LeaseSeconds == 60, "the lease is configured");
        Check(queue.Config.Backoff.Kind == BackoffKind.Constant, "the backoff is configured");
        Check(queue.OldestReadyAgeSeconds == null, "no job waits");

        var headers = new Dictionary<string, string> { ["tenant"] = "a" };
        var spec = new JobSpec(queue: QUEUE, headers: headers, priority: 5) { Payload = payload };
        Job job = (await producing.EnqueueJobAsync(spec, "csharp-1")).Created();
        Job again = (await producing.EnqueueJobAsync(spec, "csharp-1")).Created();
        Check(again.Id == job.Id, "a repeated enqueue is answered the same");
        Check(job.State == JobState.Ready && job.Priority == 5, "the job is ready");
        Check(job.LeaseExpiresAt == null, "nobody holds the job");
        var specs = Enumerable.Range(0, 3).Select(number => new JobSpec(queue: QUEUE) { Payload = number });
        JobList batch = (await producing.EnqueueJobsAsync(new JobSpecList(specs.ToList()))).Created();
        Check(batch.Jobs.Count == 3, "the batch is enqueued");

        Check((await queues.PauseQueueAsync(QUEUE)).Ok().Paused, "the queue is paused");
        Check(!(await queues.ResumeQueueAsync(QUEUE)).Ok().Paused, "the queue is resumed");
        Check((await queues.GetQueueAsync(QUEUE)).Ok().Counts.Ready == 4, "four jobs are ready");
        Check((await queues.ListQueuesAsync(limit: 10)).Ok().Queues.Count > 0, "the queue is listed");

        var claim = new ClaimRequest(new List<string> { QUEUE }, limit: 4, worker: "csharp");
        List<LeasedJob> claimed = (await consuming.ClaimJobsAsync(claim)).Ok().Jobs;
        Check(claimed.Count == 4, "four jobs are claimed");
        LeasedJob first = claimed[0], second = claimed[1], third = claimed[2], fourth = claimed[3];
        Check(first.Id == job.Id && SameJson(first.Payload, payload), "the payload comes back");
        Check(SameJson(first.Headers, headers), "the headers come back");
        Check(first.LeaseExpiresAt > DateTime.UtcNow, "the lease runs");

        var progress = new { done = true };
        Extended extended = (await consuming.ExtendLeaseAsync(
            first.Id, new ExtendRequest(first.LeaseToken, 120) { Progress = progress })).Ok();
        Check(extended.LeaseExpiresAt > first.LeaseExpiresAt, "the lease is extended");
        Job looked = (await jobs.GetJobAsync(first.Id)).Ok();
        Check(looked.State == JobState.Leased, "the job is leased");
        Check(SameJson(looked.Progress, progress), "the progress is seen");

        Acked acked = (await consuming.AckJobAsync(
            first.Id, new AckRequest(first.LeaseToken) { Result = new[] { true } })).Ok();
        Check(acked.State == JobState.Completed, "the first job is done");
        Job nacked = (await consuming.NackJobAsync(
            second.Id, new NackRequest(second.LeaseToken, "no luck", delaySeconds: 3600))).Ok();
        Check(nacked.State == JobState.Scheduled, "the second job rests");
        Check(nacked.LastError == "no luck", "the error is kept");
        SettleResults settled = (await consuming.SettleJobsAsync(new SettleRequest(
            new List<AckItem> { new AckItem(third.Id, third.LeaseToken), new AckItem(fourth.Id, "stale") },
            new List<NackItem> { new NackItem(fourth.Id, fourth.LeaseToken, retry: false) }))).Ok();
        Check(settled.Acks[0].Status == 200, "the first ack counts");
        Check(settled.Acks[1].Problem.Code == "lease_lost", "the stale ack doesn't");
        Check(settled.Nacks[0].State == JobState.Dead, "the fourth job is dead");

        JobPage page = (await jobs.ListJobsAsync(QUEUE, JobState.Dead, include: "payload")).Ok();
        Check(page.Jobs.Count == 1 && page.NextCursor == null, "the dead job is listed");
        Check(SameJson(page.Jobs[0].Payload, 2), "with its payload");

        var followed = new BatchSpec(QUEUE, onSuccess: new JobSpec(queue: QUEUE) { Payload = "all done" });
        Batch opened = (await batches.CreateBatchAsync(followed)).Created();
        Check(opened.State == BatchState.Open, "the batch is open");
        Check(opened.Followers.Single() == BatchFollower.OnSuccess, "it has a follower");
        Job member = (await producing.EnqueueJobAsync(new JobSpec(queue: QUEUE, batch: opened.Id))).Created();
        Check(member.Batch == opened.Id, "the job is in the batch");
        Check((await batches.CloseBatchAsync(opened.Id)).Ok().State == BatchState.Running, "the batch is closed");
        var request = new ClaimRequest(new List<string> { QUEUE });
        LeasedJob leased = (await consuming.ClaimJobsAsync(request)).Ok().Jobs.Single();
        Check(leased.Id == member.Id, "the job of the batch is claimed");
        await consuming.AckJobAsync(leased.Id, new AckRequest(leased.LeaseToken));
        Batch ended = (await batches.GetBatchAsync(opened.Id)).Ok();
        Check(ended.State == BatchState.Succeeded && ended.Counts.Completed == 1, "the batch has succeeded");
        List<Job> ready = (await jobs.ListJobsAsync(QUEUE, JobState.Ready, include: "payload")).Ok().Jobs;
        Check(ready.Count == 1 && SameJson(ready[0].Payload, "all done"), "the follower is enqueued");

        Problem gone = (await jobs.GetJobAsync(first.Id)).NotFound();
        Check(gone.Status == 404 && gone.Code == "job_not_found", "the first job is gone");
        var two = new JobSpec(delaySeconds: 1, runAt: DateTime.UtcNow);
        Problem wrong = (await producing.EnqueueJobAsync(two)).BadRequest();
        Check(wrong.Errors[0].Path == "/run_at", "two times are one too many");

        Console.WriteLine("the cycle is done");
    }
}
