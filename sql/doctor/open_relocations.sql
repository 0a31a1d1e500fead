-- In home: the relocations that have not ended.
select id from dibs.relocations where phase <> 'ended' and not dry_run;
