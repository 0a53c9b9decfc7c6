-- Who may read a row: a sorted JSON list of the labels of its document's `visibility`, null for everyone.
-- All that a document is made of has the document's labels, since its parts show each other's words.
ALTER TABLE node ADD COLUMN labels TEXT;
ALTER TABLE passage ADD COLUMN labels TEXT;

-- Every list of labels that a repository ever had, so that a reader's roles become a set of lists.
CREATE TABLE label (
  repository INTEGER NOT NULL REFERENCES repository (id),
  labels TEXT NOT NULL,
  PRIMARY KEY (repository, labels)
) WITHOUT ROWID;

UPDATE node SET labels = labels_of(metadata) WHERE json_type(metadata, '$.visibility') IS NOT NULL;
UPDATE passage SET labels = (
  SELECT n.labels FROM node n
  WHERE n.repository = passage.repository AND n.id = passage.node_id AND n.born <= passage.born
    AND (n.died IS NULL OR n.died > passage.born)
  ORDER BY n.born DESC LIMIT 1);
INSERT OR IGNORE INTO label (repository, labels)
SELECT repository, labels FROM node WHERE labels IS NOT NULL;

-- Whether anything supersedes anything is asked by every question.
CREATE INDEX link_supersedes ON link (repository) WHERE type = 'supersedes';

-- One space is active at a time: the newest.
UPDATE space SET state = 'retired'
WHERE state = 'active' AND row < (
  SELECT max(o.row) FROM space o WHERE o.repository = space.repository AND o.state = 'active');
