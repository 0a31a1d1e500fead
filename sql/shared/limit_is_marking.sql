-- Whether the next claim marks leases that do not count yet under the limits `l` of a queue. See claim/limit_upkeep.sql.
l.counting_since > statement_timestamp() - interval '10 seconds'
or l.pruned_at < l.counting_since + interval '10 seconds'
