-- What a language model answered, so that it is asked once. The key names all that the answer was
-- made from; an empty text is an answer too: the model had none to give.
CREATE TABLE generated (
  repository INTEGER NOT NULL REFERENCES repository (id),
  key TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (repository, key)
) WITHOUT ROWID;
