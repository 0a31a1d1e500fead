-- The audit says more of an act than has a column of its own. See docs/decisions/0028-audit.md.
-- oldest: 24

-- Names, ids, numbers and choices: {"batch_id": "..."}, {"home": true}.
alter table dibs.audit add column details json not null default '{}';
