-- In home: whether this replica still works on a relocation, and it is in this phase.
select from dibs.relocations where id = :id and phase = :phase and attempt = :attempt;
