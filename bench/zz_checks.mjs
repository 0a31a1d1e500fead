import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, settle, serverPid } from './lib/postgres.mjs';
import { postgresCpu } from './lib/cpu.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';
const QUEUE='bench';
const CHECKS=['job_attempts','job_cancelling','job_enqueued','job_finished','job_group','job_keys','job_leased','job_priority'];
const VARIANTS={
  asis: [],
  nochecks: CHECKS.map(c=>`alter table dibs.jobs drop constraint ${c}`),
  nochecks_notrigger: [...CHECKS.map(c=>`alter table dibs.jobs drop constraint ${c}`), 'alter table dibs.jobs disable trigger jobs_history'],
  fewidx: [...CHECKS.map(c=>`alter table dibs.jobs drop constraint ${c}`), 'alter table dibs.jobs disable trigger jobs_history', ...['jobs_claim_holder','jobs_claim_id','jobs_counted','jobs_finished','jobs_group_key','jobs_unique_key','jobs_fair_arrival','jobs_blocked','jobs_head'].map(i=>`drop index dibs.${i}`)],
};
await benchmark({name:'zz',title:'zz',full:{rounds:3,seconds:4,connections:[8,64,256],only:''},short:{},maxSeconds:3600},
async ({options:{rounds,seconds,connections,only},postgres,report})=>{
  const names=Object.keys(VARIANTS).filter(n=>!only||only.split(',').includes(n));
  const sides=[];
  for(const name of names){
    const url=await postgres.database('zz_'+name);
    const replica=await startReplica(url);
    await fill(replica.url,READY,jobText(QUEUE));
    const sizes=await query(url,`select sum(length(conbin::text)) c from pg_constraint where conrelid='dibs.jobs'::regclass and contype='c'`);
    const tq=await query(url,`select sum(length(tgqual::text)) c from pg_trigger where tgrelid='dibs.jobs'::regclass`);
    console.log(name,sizes,tq);
    for(const s of VARIANTS[name]) await query(url,s);
    await cycle(replica.url,QUEUE,jobText(QUEUE),{connections:64,seconds:2});
    sides.push({name,url,replica,found:new Map(connections.map(c=>[c,[]]))});
  }
  const server=await serverPid(sides[0].url);
  for(let r=0;r<rounds;r++) for(const c of connections) for(const side of sides){
    await settle(side.url);
    const b=[...postgresCpu(server).values()].reduce((x,y)=>x+y,0);
    const x=await cycle(side.replica.url,QUEUE,jobText(QUEUE),{connections:c,seconds});
    const a=[...postgresCpu(server).values()].reduce((x,y)=>x+y,0);
    side.found.get(c).push({cycles:x.cycles,pg:1e6*(a-b)/x.requests});
    if(x.trouble) console.log(side.name,x.trouble);
  }
  for(const c of connections){ const base=sides[0].found.get(c);
    for(const {name,found} of sides){ const f=found.get(c);
      console.log(c,name,'cycles',Math.round(median(f.map(x=>x.cycles))),'ratio',median(f.map((x,i)=>x.cycles/base[i].cycles)).toFixed(3),'pg us/req',median(f.map(x=>x.pg)).toFixed(1));}}
});
