-- The second wall behind the WHERE clauses: run after the migrations, and changes nothing the second
-- time. A statement sees the rows of the tenant that its transaction names, and none where it names
-- none; the owner of the tables too. Two tables tell who there is: `repository` and `api_key` can be
-- read by a transaction that says so, and the use of a key is written by one.
DO $$
DECLARE
  wall text := 'tenant = nullif(current_setting(''sourcebook.tenant'', true), '''')';
  door text := ' OR current_setting(''sourcebook.all_tenants'', true) = ''on''';
  t text;
BEGIN
  FOR t IN
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND a.attname = 'tenant'
      AND NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid)
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', t,
      wall || CASE WHEN t IN ('repository', 'api_key') THEN door ELSE '' END,
      wall || CASE WHEN t = 'api_key' THEN door ELSE '' END);
  END LOOP;
END $$;
