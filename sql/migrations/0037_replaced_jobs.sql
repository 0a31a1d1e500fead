-- What an enqueue does with the waiting job that has its unique key. See docs/decisions/0101-replacing-duplicates.md.
-- oldest: 24
alter type dibs.new_job add attribute on_duplicate text;
alter type dibs.kept_job add attribute replaced boolean;

-- sql/functions make it anew, with one parameter more.
drop function if exists dibs.enqueue(
  text, json, json, integer, double precision, timestamptz, integer, json, text, double precision, text, text,
  double precision
);
