-- Whether the database answers.
select true as answers;
