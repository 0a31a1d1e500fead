-- After how long a ready job of this queue is too old. Alerts, the overview and the page go by it: docs/decisions/0080-alerts.md.
-- oldest: 24
alter table dibs.queues
  add column alert_after_seconds double precision not null default 300,
  add constraint queue_alert_after check (alert_after_seconds between 1 and 31622400);
