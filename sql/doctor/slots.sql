-- Replication slots that nobody reads, and how much WAL the server keeps for each.
select
  slot_name::text as name,
  pg_wal_lsn_diff(
    case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end,
    restart_lsn
  )::double precision as bytes
from pg_replication_slots
where not active and restart_lsn is not null
order by 2 desc;
