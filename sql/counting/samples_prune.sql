-- Deletes the samples that are older than a day. The writer of each minute does it, so there are few.
delete from dibs.samples where minute < now() - interval '1 day';
