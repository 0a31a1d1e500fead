-- Tells the trigger of dibs.jobs (functions/note_history.sql) who acts in this transaction, and what a retry is called there.
-- :actor is JSON: a name, or an object with a name for each id. An empty text: nobody is named.
select set_config('dibs.actor', :actor, true) as actor, set_config('dibs.event', :event, true) as event;
