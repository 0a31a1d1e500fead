import { benchmark } from './lib/bench.mjs';
import { query, settle } from './lib/postgres.mjs';
import { cpuPartsOf } from './lib/cpu.mjs';
import { median } from './lib/stats.mjs';
import { openDatabase } from '../dist/src/postgres/pool.js';
import { startEngine } from '../dist/src/engine.js';
import { migrate } from '../dist/src/postgres/migrate.js';
const CHECKS=['job_attempts','job_cancelling','job_enqueued','job_finished','job_group','job_keys','job_leased','job_priority'];
const drop=CHECKS.map(c=>`alter table dibs.jobs drop constraint ${c}`);
const IDX=['jobs_claim_holder','jobs_claim_id','jobs_counted','jobs_finished','jobs_group_key','jobs_unique_key','jobs_fair_arrival','jobs_blocked','jobs_head','jobs_expiring','jobs_fair','jobs_scheduled','jobs_unique','jobs_by_state'];
const trig=["drop trigger jobs_history on dibs.jobs", `create trigger jobs_history after update of queue_id, finished_at on dibs.jobs for each row when (old.queue_id <> new.queue_id
    or new.cancel_requested and not old.cancel_requested and new.state = 'leased'
    or new.state <> 'leased'
      and new.state <> 'completed'
      and (
        old.state = 'leased'
        or (old.state = 'dead') <> (new.state = 'dead')
        or new.state = 'cancelled' and old.state <> 'cancelled'
        or old.lease_token is not null and new.lease_token is null
        or new.attempt < old.attempt
      )) execute function dibs.note_history()`];
const VARIANTS={
  asis: [],
  trig,
  compact: [...trig,...drop,"alter table dibs.jobs add constraint job_state check ((state = 'leased') = (lease_expires_at is not null) and (state >= 'completed') = (finished_at is not null)) not valid"],
  none: [...trig,...drop],
};
await benchmark({name:'zz',title:'zz',full:{rounds:5,loops:300,n:24,only:''},short:{},maxSeconds:3600},
async ({options:{rounds,loops,n,only},postgres})=>{
  const names=Object.keys(VARIANTS).filter(x=>!only||only.split(',').includes(x));
  const sides=[];
  for(const name of names){
    const url=await postgres.database('zz_'+name);
    await migrate(url);
    for(const s of VARIANTS[name]) await query(url,s);
    console.log(name, await query(url,`select conname, length(conbin::text) from pg_constraint where conrelid='dibs.jobs'::regclass and contype='c'`));
    const db=openDatabase(url,2);
    const engine=await startEngine({db,listenUrl:url,log:()=>undefined});
    sides.push({name,url,db,engine,found:[]});
  }
  const one=async(e)=>{
    await e.enqueue({jobs:Array.from({length:n},()=>({queue:'q',payload:{text:'{"a":1}'}})),at:()=>''});
    const jobs=await e.claim({queues:['q'],limit:n});
    if(jobs.length!==n) throw new Error('short '+jobs.length);
    await e.settle({acks:jobs.map(({id,lease_token})=>({id,lease_token}))});
  };
  const cpu=async(url)=>{const rows=await query(url,`select pid from pg_stat_activity where datname=current_database() and application_name='dibs'`);const p=rows.map(r=>cpuPartsOf(r.pid));return {u:p.reduce((a,b)=>a+b.user,0),s:p.reduce((a,b)=>a+b.system,0)};};
  for(const s of sides) for(let i=0;i<50;i++) await one(s.engine);
  for(let r=0;r<rounds;r++) for(const s of sides){
    await settle(s.url);
    const b=await cpu(s.url); const t=performance.now();
    for(let i=0;i<loops;i++) await one(s.engine);
    const ms=performance.now()-t; const a=await cpu(s.url);
    s.found.push({user:1e6*(a.u-b.u)/loops,sys:1e6*(a.s-b.s)/loops,us:1e3*ms/loops});
  }
  for(const {name,found} of sides) console.log(name.padEnd(14),'PG user us/cycle',median(found.map(f=>f.user)).toFixed(0),'sys',median(found.map(f=>f.sys)).toFixed(0),'wall',median(found.map(f=>f.us)).toFixed(0));
  process.exit(0);
});
