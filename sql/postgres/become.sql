-- Acts as another role until the transaction ends.
select set_config('role', :role, true);
