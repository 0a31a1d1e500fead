//! A job's whole life through the client that progenitor writes for Rust, from the document of OpenAPI 3.0.

use std::collections::HashMap;
use std::num::NonZeroU64;

use futures::TryStreamExt;
use serde_json::json;

progenitor::generate_api!(spec = "openapi.json", interface = Builder);

use types::{
    AckItem, AckRequest, Backoff, BackoffKind, BatchFollower, BatchSpec, BatchState, ClaimRequest, ExtendRequest,
    JobSpec, JobSpecList, JobState, ListJobsInclude, NackItem, NackRequest, Problem, QueueConfig, QueueName,
    SettleRequest,
};

const QUEUE: &str = "sdk.progenitor";

/// What a refusal says. The generator leaves its body as bytes.
async fn problem_of<T: std::fmt::Debug>(answer: Result<ResponseValue<T>, Error<ByteStream>>) -> Problem {
    let Err(Error::ErrorResponse(refusal)) = answer else { panic!("{answer:?}") };
    let chunks: Vec<_> = refusal.into_inner_stream().try_collect().await.expect("the body arrives");
    serde_json::from_slice(&chunks.concat()).expect("the refusal is a Problem")
}

fn spec(payload: serde_json::Value) -> JobSpec {
    let queue: QueueName = QUEUE.parse().expect("a name");
    JobSpec::builder().queue(queue).payload(payload).try_into().expect("a job")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dibs = Client::new(&std::env::args().nth(1).expect("a URL"));
    let payload = json!({"text": "Grüße", "list": [1, 2.5, null]});

    let backoff: Backoff = Backoff::builder().kind(BackoffKind::Constant).base_seconds(0.25).try_into()?;
    let config = QueueConfig::builder().lease_seconds(60.0).backoff(backoff);
    let queue = dibs.configure_queue().queue(QUEUE).body(config).send().await?;
    assert_eq!(queue.config.lease_seconds, Some(60.0));
    assert_eq!(queue.config.backoff.as_ref().unwrap().kind, Some(BackoffKind::Constant));
    assert_eq!(queue.oldest_ready_age_seconds, None);

    let headers = HashMap::from([("tenant".to_string(), "a".parse()?)]);
    let first = JobSpec { headers: Some(headers.clone().into()), priority: Some(5), ..spec(payload.clone()) };
    let job = dibs.enqueue_job().body(first).send().await?;
    assert_eq!((job.state, job.priority, job.lease_expires_at), (JobState::Ready, 5, None));
    let specs: Vec<JobSpec> = (0..3).map(|i| spec(json!(i))).collect();
    let batch = dibs.enqueue_jobs().body(JobSpecList::builder().jobs(specs)).send().await?;
    assert_eq!(batch.jobs.len(), 3);

    assert!(dibs.pause_queue().queue(QUEUE).send().await?.paused);
    assert!(!dibs.resume_queue().queue(QUEUE).send().await?.paused);
    assert_eq!(dibs.get_queue().queue(QUEUE).send().await?.counts.ready, 4);
    assert!(dibs.list_queues().send().await?.queues.iter().any(|queue| queue.name.as_str() == QUEUE));

    let request = ClaimRequest::builder()
        .queues(vec![QUEUE.parse::<QueueName>()?])
        .limit(NonZeroU64::new(4))
        .worker("rust".parse::<types::ClaimRequestWorker>()?);
    let claimed = dibs.claim_jobs().body(request).send().await?.into_inner().jobs;
    let [first, second, third, fourth] = &claimed[..] else { panic!("{claimed:?}") };
    assert_eq!((&first.id, &first.payload), (&job.id, &Some(payload)));
    assert_eq!(*first.headers, headers);
    assert_eq!((&second.payload, &fourth.payload), (&Some(json!(0)), &Some(json!(2))));
    assert!(first.lease_expires_at > chrono::Utc::now());

    let extend = ExtendRequest::builder().lease_token(&first.lease_token).lease_seconds(120.0);
    let extend = extend.progress(json!({"done": 1}));
    let extended = dibs.extend_lease().id(&first.id).body(extend).send().await?;
    assert!(extended.lease_expires_at > first.lease_expires_at && !extended.cancel_requested);
    let looked = dibs.get_job().id(&first.id).send().await?.into_inner();
    assert_eq!((looked.state, looked.progress), (JobState::Leased, json!({"done": 1})));

    let ack = AckRequest::builder().lease_token(&first.lease_token).result(json!([true]));
    assert_eq!(dibs.ack_job().id(&first.id).body(ack).send().await?.state, JobState::Completed);
    let nack = NackRequest::builder()
        .lease_token(&second.lease_token)
        .error("no luck".parse::<types::NackRequestError>()?)
        .delay_seconds(3600.0);
    let nacked = dibs.nack_job().id(&second.id).body(nack).send().await?;
    assert_eq!((nacked.state, nacked.last_error.as_deref()), (JobState::Scheduled, Some("no luck")));
    let acks: Vec<AckItem> = vec![
        AckItem::builder().id(&third.id).lease_token(&third.lease_token).try_into()?,
        AckItem::builder().id(&fourth.id).lease_token("stale").try_into()?,
    ];
    let dead: NackItem =
        NackItem::builder().id(&fourth.id).lease_token(&fourth.lease_token).retry(false).try_into()?;
    let settlements = SettleRequest::builder().acks(acks).nacks(vec![dead]);
    let settled = dibs.settle_jobs().body(settlements).send().await?;
    assert_eq!((settled.acks[0].status, settled.acks[1].status), (200, 409));
    assert_eq!(settled.acks[1].problem.as_ref().unwrap().code, "lease_lost");
    assert_eq!(settled.nacks[0].state, Some(JobState::Dead));

    let list = dibs.list_jobs().queue(QUEUE).state(JobState::Dead).include(ListJobsInclude::Payload);
    let page = list.send().await?;
    assert_eq!((page.jobs.len(), &page.jobs[0].payload, &page.next_cursor), (1, &Some(json!(2)), &None));

    let name: QueueName = QUEUE.parse()?;
    let followed = BatchSpec::builder().queue(name.clone()).on_success(spec(json!("all done")));
    let opened = dibs.create_batch().body(followed).send().await?;
    assert_eq!((opened.state, &opened.followers[..]), (BatchState::Open, &[BatchFollower::OnSuccess][..]));
    let member = JobSpec { batch: Some(opened.id.parse()?), ..spec(json!(3)) };
    let member = dibs.enqueue_job().body(member).send().await?;
    assert_eq!(member.batch.as_ref(), Some(&opened.id));
    assert_eq!(dibs.close_batch().id(&opened.id).send().await?.state, BatchState::Running);
    let request = ClaimRequest::builder().queues(vec![name]);
    let leased = dibs.claim_jobs().body(request).send().await?.into_inner().jobs.remove(0);
    assert_eq!(leased.id, member.id);
    let ack = AckRequest::builder().lease_token(&leased.lease_token);
    dibs.ack_job().id(&leased.id).body(ack).send().await?;
    let ended = dibs.get_batch().id(&opened.id).send().await?;
    assert_eq!((ended.state, ended.counts.completed), (BatchState::Succeeded, 1));
    let list = dibs.list_jobs().queue(QUEUE).state(JobState::Ready).include(ListJobsInclude::Payload);
    let ready = list.send().await?;
    assert_eq!((ready.jobs.len(), &ready.jobs[0].payload), (1, &Some(json!("all done"))));

    let gone = problem_of(dibs.get_job().id(&first.id).send().await).await;
    assert_eq!((gone.status, gone.code.as_str()), (404, "job_not_found"));
    let twice = JobSpec::builder().delay_seconds(1.0).run_at(chrono::Utc::now());
    let wrong = problem_of(dibs.enqueue_job().body(twice).send().await).await;
    assert_eq!((wrong.code.as_str(), wrong.errors[0].path.as_str()), ("invalid_request", "/run_at"));

    println!("the cycle is done");
    Ok(())
}
