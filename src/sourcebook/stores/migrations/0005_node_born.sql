-- What a revision has made is found without a look at all the rest.
CREATE INDEX node_born ON node (repository, born);
