-- The table of counts of a passage also counts what stands around it.
UPDATE passage SET terms = widened(terms);
