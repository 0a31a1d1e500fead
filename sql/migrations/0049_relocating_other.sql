-- A queue that is being relocated tells in both databases where the other end is: home may have forgotten it. See
-- docs/decisions/0092-relocation.md.
-- oldest: 24

-- Of a queue that leaves or returns, where it was to go. Of one that has arrived, where it came from. Null: not known.
alter table dibs.relocating_queues add column other text;
