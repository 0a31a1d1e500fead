-- Whether a job {of} that is due may be ready. One of a group only as its head, and not while the group is paused. A head with a
-- negative place gives it up: see groups/narrow.sql.
({of}.group_key is null or ({of}.is_head and {of}.head_place > 0 and {of}.is_paused is null))
