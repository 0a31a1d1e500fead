-- What a cancel makes of a job `j`. A leased job stays leased: its worker is asked to stop.
state = case when j.state = 'leased' then j.state else 'cancelled' end,
is_head = j.is_head and j.state = 'leased',
cancel_requested = (j.state = 'leased'),
finished_at = case when j.state <> 'leased' then now() end,
lease_token = case when j.state = 'leased' then j.lease_token end
