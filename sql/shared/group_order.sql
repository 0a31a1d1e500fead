-- The order of the heads of a group: those that began and came back, by their ids, and then the others, by their positions.
case when {of}.leased_at is null then {of}.position else -1 end, {of}.id
