-- How long a claim has searched for its jobs, in ms.
(
  select round(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::integer
  from picked
)
