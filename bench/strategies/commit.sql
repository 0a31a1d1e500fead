-- Ends the transaction in which a job was worked.
commit;
