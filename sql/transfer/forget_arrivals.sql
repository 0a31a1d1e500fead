-- An import has ended: no more parcels come from it.
delete from dibs.relay_arrivals where source = :source;
