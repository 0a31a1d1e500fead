// A job's whole life through the client that OpenAPI Generator writes for Kotlin.

import dibs.apis.BatchesApi
import dibs.apis.ConsumingApi
import dibs.apis.JobsApi
import dibs.apis.ProducingApi
import dibs.apis.QueuesApi
import dibs.infrastructure.ClientError
import dibs.infrastructure.ClientException
import dibs.infrastructure.Serializer
import dibs.models.*
import java.time.OffsetDateTime

const val QUEUE = "sdk.kotlin"

/** What a refusal says. The generator leaves its body as text. */
fun refusal(call: () -> Unit): Problem =
    try {
        call()
        error("no problem was answered")
    } catch (refused: ClientException) {
        val text = (refused.response as ClientError<*>).body as String
        Serializer.moshi.adapter(Problem::class.java).fromJson(text)!!
    }

fun main(arguments: Array<String>) {
    val url = arguments[0]
    val producing = ProducingApi(url)
    val consuming = ConsumingApi(url)
    val jobs = JobsApi(url)
    val queues = QueuesApi(url)
    val batches = BatchesApi(url)
    val payload = mapOf("text" to "Grüße", "list" to listOf(1.0, 2.5, null))

    val backoff = Backoff(kind = BackoffKind.constant, baseSeconds = 0.25)
    val queue = queues.configureQueue(QUEUE, QueueConfig(leaseSeconds = 60.0, backoff = backoff))
    check(queue.config.leaseSeconds == 60.0) { "the lease is configured" }
    check(queue.config.backoff?.kind == BackoffKind.constant) { "the backoff is configured" }
    check(queue.oldestReadyAgeSeconds == null) { "no job waits" }

    val headers = mapOf("tenant" to "a")
    val job = producing.enqueueJob(JobSpec(queue = QUEUE, payload = payload, headers = headers, priority = 5))
    check(job.state == JobState.ready && job.priority == 5 && job.leaseExpiresAt == null) { "the job is ready" }
    val batch = producing.enqueueJobs(JobSpecList((0..2).map { JobSpec(queue = QUEUE, payload = it) })).jobs
    check(batch.size == 3) { "the batch is enqueued" }

    check(queues.pauseQueue(QUEUE).paused) { "the queue is paused" }
    check(!queues.resumeQueue(QUEUE).paused) { "the queue is resumed" }
    check(queues.getQueue(QUEUE).counts.ready == 4) { "four jobs are ready" }
    check(queues.listQueues().queues.any { it.name == QUEUE }) { "the queue is listed" }

    val claim = ClaimRequest(queues = listOf(QUEUE), limit = 4, worker = "kotlin")
    val (first, second, third, fourth) = consuming.claimJobs(claim).jobs
    check(first.id == job.id && first.payload == payload) { "the payload comes back" }
    check(first.headers == headers) { "the headers come back" }
    check(first.leaseExpiresAt > OffsetDateTime.now()) { "the lease runs" }

    val extended = consuming.extendLease(first.id, ExtendRequest(first.leaseToken, 120.0, mapOf("done" to 1)))
    check(extended.leaseExpiresAt > first.leaseExpiresAt && !extended.cancelRequested) { "the lease is extended" }
    val looked = jobs.getJob(first.id)
    check(looked.state == JobState.leased && looked.progress == mapOf("done" to 1.0)) { "the progress is seen" }

    val acked = consuming.ackJob(first.id, AckRequest(first.leaseToken, listOf(true)))
    check(acked.state == JobState.completed) { "the first job is done" }
    val nacked = consuming.nackJob(second.id, NackRequest(second.leaseToken, "no luck", 3600.0))
    check(nacked.state == JobState.scheduled && nacked.lastError == "no luck") { "the second job rests" }
    val settled = consuming.settleJobs(
        SettleRequest(
            acks = listOf(AckItem(third.id, third.leaseToken), AckItem(fourth.id, "stale")),
            nacks = listOf(NackItem(fourth.id, fourth.leaseToken, retry = false)),
        ),
    )
    check(settled.acks.map { it.status } == listOf(200, 409)) { "one of two acks counts" }
    check(settled.acks[1].problem?.code == "lease_lost") { "the other one is stale" }
    check(settled.nacks[0].state == JobState.dead) { "the fourth job is dead" }

    val page = jobs.listJobs(QUEUE, JobState.dead, include = JobsApi.IncludeListJobs.IncludePayload)
    check(page.jobs.map { it.payload } == listOf(2.0) && page.nextCursor == null) { "the dead job is listed" }

    val follower = JobSpec(queue = QUEUE, payload = "all done")
    val opened = batches.createBatch(BatchSpec(queue = QUEUE, onSuccess = follower))
    check(opened.state == BatchState.`open`) { "the batch is open" }
    check(opened.followers == listOf(BatchFollower.on_success)) { "it has a follower" }
    val member = producing.enqueueJob(JobSpec(queue = QUEUE, batch = opened.id))
    check(member.batch == opened.id) { "the job is in the batch" }
    check(batches.closeBatch(opened.id).state == BatchState.running) { "the batch is closed" }
    val leased = consuming.claimJobs(ClaimRequest(queues = listOf(QUEUE))).jobs.single()
    check(leased.id == member.id) { "the job of the batch is claimed" }
    consuming.ackJob(leased.id, AckRequest(leased.leaseToken))
    val ended = batches.getBatch(opened.id)
    check(ended.state == BatchState.succeeded && ended.counts.completed == 1) { "the batch has succeeded" }
    val ready = jobs.listJobs(QUEUE, JobState.ready, include = JobsApi.IncludeListJobs.IncludePayload).jobs
    check(ready.map { it.payload } == listOf("all done")) { "the follower is enqueued" }

    val gone = refusal { jobs.getJob(first.id) }
    check(gone.status == 404 && gone.code == "job_not_found") { "the first job is gone" }
    val wrong = refusal { producing.enqueueJob(JobSpec(delaySeconds = 1.0, runAt = OffsetDateTime.now())) }
    check(wrong.code == "invalid_request" && wrong.errors!![0].path == "/run_at") { "two times are one too many" }

    println("the cycle is done")
}
