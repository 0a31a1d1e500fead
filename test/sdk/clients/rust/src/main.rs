//! A job's whole life through the client that OpenAPI Generator writes for Rust.

use std::collections::HashMap;

use dibs_client::apis::configuration::Configuration;
use dibs_client::apis::jobs_api::{self, ListJobsError};
use dibs_client::apis::{batches_api, consuming_api, producing_api, queues_api, Error};
use dibs_client::models::{
    AckItem, AckRequest, Backoff, BackoffKind, BatchFollower, BatchSpec, BatchState, ClaimRequest, ExtendRequest,
    JobPage, JobSpec, JobSpecList, JobState, NackItem, NackRequest, Problem, QueueConfig, SettleRequest,
};
use serde_json::{json, Value};

const QUEUE: &str = "sdk.rust";

/// What a refusal says.
fn problem_of<T, E: std::fmt::Debug>(answer: Result<T, Error<E>>) -> Problem {
    match answer {
        Err(Error::ResponseError(refusal)) => serde_json::from_str(&refusal.content).expect("the refusal is a Problem"),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("no problem was answered"),
    }
}

fn spec(payload: Value) -> JobSpec {
    JobSpec { queue: Some(QUEUE.into()), payload: Some(Some(payload)), ..Default::default() }
}

/// The generator gives an operation all of its parameters, in order.
async fn list(dibs: &Configuration, state: JobState) -> Result<JobPage, Error<ListJobsError>> {
    let include = Some("payload");
    jobs_api::list_jobs(
        dibs, Some(QUEUE), Some(state), None, None, None, None, None, None, None, None, None, include, None, None, None,
        None,
    )
    .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dibs = &Configuration { base_path: std::env::args().nth(1).expect("a URL"), ..Default::default() };
    let payload = json!({"text": "Grüße", "list": [1, 2.5, null]});

    let backoff = Backoff { kind: Some(BackoffKind::Constant), base_seconds: Some(0.25), ..Default::default() };
    let config = QueueConfig { lease_seconds: Some(60.0), backoff: Some(Box::new(backoff)), ..Default::default() };
    let queue = queues_api::configure_queue(dibs, QUEUE, config).await?;
    assert_eq!(queue.config.lease_seconds, Some(60.0));
    assert_eq!(queue.config.backoff.unwrap().kind, Some(BackoffKind::Constant));
    assert_eq!(queue.oldest_ready_age_seconds, None);

    let headers = HashMap::from([("tenant".to_string(), "a".to_string())]);
    let first = JobSpec { headers: Some(headers.clone()), priority: Some(5), ..spec(payload.clone()) };
    let job = producing_api::enqueue_job(dibs, first, None, None).await?;
    assert_eq!((job.state, job.priority, job.lease_expires_at), (JobState::Ready, 5, None));
    let specs = JobSpecList::new((0..3).map(|i| spec(json!(i))).collect());
    assert_eq!(producing_api::enqueue_jobs(dibs, specs, None).await?.jobs.len(), 3);

    assert!(queues_api::pause_queue(dibs, QUEUE).await?.paused);
    assert!(!queues_api::resume_queue(dibs, QUEUE).await?.paused);
    assert_eq!(queues_api::get_queue(dibs, QUEUE).await?.counts.ready, 4);
    assert!(queues_api::list_queues(dibs, None, None, None).await?.queues.iter().any(|queue| queue.name == QUEUE));

    let request = ClaimRequest {
        queues: Some(vec![QUEUE.into()]),
        limit: Some(4),
        worker: Some("rust".into()),
        ..Default::default()
    };
    let claimed = consuming_api::claim_jobs(dibs, Some(request)).await?.jobs;
    let [first, second, third, fourth] = &claimed[..] else { panic!("{claimed:?}") };
    assert_eq!((&first.id, &first.payload, &first.headers), (&job.id, &Some(Some(payload)), &headers));
    assert_eq!((&second.payload, &fourth.payload), (&Some(Some(json!(0))), &Some(Some(json!(2)))));
    assert!(first.lease_expires_at > chrono::Utc::now());

    let mut extend = ExtendRequest::new(first.lease_token.clone(), 120.0);
    extend.progress = Some(Some(json!({"done": 1})));
    let extended = consuming_api::extend_lease(dibs, &first.id, extend).await?;
    assert!(extended.lease_expires_at > first.lease_expires_at && !extended.cancel_requested);
    let looked = jobs_api::get_job(dibs, &first.id, None, None).await?;
    assert_eq!((looked.state, looked.progress), (JobState::Leased, Some(json!({"done": 1}))));

    let mut ack = AckRequest::new(first.lease_token.clone());
    ack.result = Some(Some(json!([true])));
    assert_eq!(consuming_api::ack_job(dibs, &first.id, ack).await?.state, JobState::Completed);
    let mut nack = NackRequest::new(second.lease_token.clone());
    (nack.error, nack.delay_seconds) = (Some("no luck".into()), Some(3600.0));
    let nacked = consuming_api::nack_job(dibs, &second.id, nack).await?;
    assert_eq!((nacked.state, nacked.last_error.as_deref()), (JobState::Scheduled, Some("no luck")));
    let mut dead = NackItem::new(fourth.id.clone(), fourth.lease_token.clone());
    dead.retry = Some(false);
    let settlements = SettleRequest {
        acks: Some(vec![
            AckItem::new(third.id.clone(), third.lease_token.clone()),
            AckItem::new(fourth.id.clone(), "stale".into()),
        ]),
        nacks: Some(vec![dead]),
        ..Default::default()
    };
    let settled = consuming_api::settle_jobs(dibs, settlements).await?;
    assert_eq!((settled.acks[0].status, settled.acks[1].status), (200, 409));
    assert_eq!(settled.acks[1].problem.as_ref().unwrap().code, "lease_lost");
    assert_eq!(settled.nacks[0].state, Some(JobState::Dead));

    let page = list(dibs, JobState::Dead).await?;
    assert_eq!((page.jobs.len(), &page.jobs[0].payload, page.next_cursor), (1, &Some(Some(json!(2))), None));

    let mut followed = BatchSpec::new(QUEUE.into());
    followed.on_success = Some(Box::new(spec(json!("all done"))));
    let opened = batches_api::create_batch(dibs, followed, None).await?;
    assert_eq!((opened.state, opened.followers), (BatchState::Open, vec![BatchFollower::OnSuccess]));
    let member = JobSpec { batch: Some(opened.id.clone()), ..spec(json!(3)) };
    let member = producing_api::enqueue_job(dibs, member, None, None).await?;
    assert_eq!(member.batch.as_ref(), Some(&opened.id));
    assert_eq!(batches_api::close_batch(dibs, &opened.id).await?.state, BatchState::Running);
    let request = ClaimRequest { queues: Some(vec![QUEUE.into()]), ..Default::default() };
    let leased = consuming_api::claim_jobs(dibs, Some(request)).await?.jobs.remove(0);
    assert_eq!(leased.id, member.id);
    consuming_api::ack_job(dibs, &leased.id, AckRequest::new(leased.lease_token)).await?;
    let ended = batches_api::get_batch(dibs, &opened.id, None).await?;
    assert_eq!((ended.state, ended.counts.completed), (BatchState::Succeeded, 1));
    let ready = list(dibs, JobState::Ready).await?.jobs;
    assert_eq!((ready.len(), &ready[0].payload), (1, &Some(Some(json!("all done")))));

    let gone = problem_of(jobs_api::get_job(dibs, &first.id, None, None).await);
    assert_eq!((gone.status, gone.code.as_str()), (404, "job_not_found"));
    let twice = JobSpec { delay_seconds: Some(1.0), run_at: Some(chrono::Utc::now().into()), ..Default::default() };
    let wrong = problem_of(producing_api::enqueue_job(dibs, twice, None, None).await);
    assert_eq!((wrong.code.as_str(), wrong.errors.unwrap()[0].path.as_str()), ("invalid_request", "/run_at"));

    println!("the cycle is done");
    Ok(())
}
