-- Seconds until the next attempt after attempt number `attempt` has failed. The caller draws jitter_share, from 0 to 1: the delay is
-- shortened by that share of the policy's jitter.
create or replace function dibs.backoff_seconds(backoff json, attempt integer, jitter_share double precision)
returns double precision
language sql immutable parallel safe
return
  least(
    (backoff->>'max_seconds')::double precision,
    (backoff->>'base_seconds')::double precision * case backoff->>'kind'
      when 'exponential' then power(2::double precision, least(greatest(attempt, 1) - 1, 60))
      when 'linear' then greatest(attempt, 1)
      else 1
    end
  ) * (1 - (backoff->>'jitter')::double precision * jitter_share);

revoke all on function dibs.backoff_seconds from public;
