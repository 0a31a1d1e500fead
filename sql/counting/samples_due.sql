-- Whether no replica has written the samples of this minute yet.
select not exists (select from dibs.samples where minute = date_trunc('minute', now())) as is_due;
