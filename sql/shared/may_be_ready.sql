-- Whether a job {of} that is due may be ready. One of a group only as its head, and not while the group is paused.
({of}.group_key is null or ({of}.is_head and {of}.is_paused is null))
