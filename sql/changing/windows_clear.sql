-- Deletes the windows of unique keys of a queue that is gone, up to 1000 of them.
delete from dibs.unique_windows
where queue_id = :queue_id
  and unique_key = any (array(
    select unique_key from dibs.unique_windows where queue_id = :queue_id order by unique_key limit (select 1000)
  ))
returning unique_key;
