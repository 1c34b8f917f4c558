-- Rows as values keep the names and types of their columns.
CREATE TABLE r (id int PRIMARY KEY, "Name" text, at timestamptz, c char(3), n numeric(6,2), f real);
INSERT INTO r VALUES (1, 'a "b"', '2024-01-02 03:04:05+00', 'x', 1.5, 0.1), (2, NULL, NULL, NULL, NULL, NULL);
SELECT row_to_json(r) FROM r ORDER BY id;
--> {"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}
--> {"id":2,"Name":null,"at":null,"c":null,"n":null,"f":null}
SELECT to_jsonb(r), to_json(r) FROM r WHERE id = 1;
--> {"c": "x  ", "f": 0.1, "n": 1.50, "at": "2024-01-02T03:04:05+00:00", "id": 1, "Name": "a \"b\""}|{"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}
SELECT json_agg(r ORDER BY id), jsonb_agg(r ORDER BY id DESC) FROM r;
--> [{"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}, 
-->  {"id":2,"Name":null,"at":null,"c":null,"n":null,"f":null}]|[{"c": null, "f": null, "n": null, "at": null, "id": 2, "Name": null}, {"c": "x  ", "f": 0.1, "n": 1.50, "at": "2024-01-02T03:04:05+00:00", "id": 1, "Name": "a \"b\""}]
SELECT array_to_json(array_agg(r ORDER BY id)) FROM r;
--> [{"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1},{"id":2,"Name":null,"at":null,"c":null,"n":null,"f":null}]
SELECT row_to_json(s) FROM (SELECT id, id * 2 AS twice, "Name" FROM r) AS s ORDER BY id;
--> {"id":1,"twice":2,"Name":"a \"b\""}
--> {"id":2,"twice":4,"Name":null}
WITH c (a, b) AS (VALUES (1, 'x'), (2, 'y')) SELECT json_agg(c) FROM c;
--> [{"a":1,"b":"x"}, 
-->  {"a":2,"b":"y"}]
SELECT row_to_json(v) FROM (VALUES (1, 'x')) AS v (num, str);
--> {"num":1,"str":"x"}
SELECT row_to_json(g) FROM generate_series(1, 2) WITH ORDINALITY AS g (v, o);
--> {"v":1,"o":1}
--> {"v":2,"o":2}
SELECT row_to_json(e) FROM json_each('{"a": 1, "b": [2]}') AS e;
--> {"key":"a","value":1}
--> {"key":"b","value":[2]}
SELECT row_to_json(ROW(1, 'x', NULL)), to_jsonb(ROW(1, ROW(2, 3)));
--> {"f1":1,"f2":"x","f3":null}|{"f1": 1, "f2": {"f1": 2, "f2": 3}}
SELECT json_build_object('r', r, 'rows', array_agg(r)) FROM r WHERE id = 1 GROUP BY r.id;
--> {"r" : {"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}, "rows" : [{"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}]}
SELECT row_to_json(x) FROM (SELECT id, (SELECT json_agg(y) FROM (SELECT o.id, o.n FROM r AS o WHERE o.id <= r.id ORDER BY o.id) AS y) AS list FROM r) AS x ORDER BY id;
--> {"id":1,"list":[{"id":1,"n":1.50}]}
--> {"id":2,"list":[{"id":1,"n":1.50}, 
-->  {"id":2,"n":null}]}
SELECT (SELECT row_to_json(r)) FROM r WHERE id = 1;
--> {"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}
SELECT row_to_json(x) FROM (SELECT r FROM r WHERE id = 1) AS x;
--> {"r":{"id":1,"Name":"a \"b\"","at":"2024-01-02T03:04:05+00:00","c":"x  ","n":1.50,"f":0.1}}
SELECT r FROM r ORDER BY id;
--> (1,"a ""b""","2024-01-02 03:04:05+00","x  ",1.50,0.1)
--> (2,,,,,)
SELECT ARRAY(SELECT r FROM r WHERE id = 1);
--> {"(1,\"a \"\"b\"\"\",\"2024-01-02 03:04:05+00\",\"x  \",1.50,0.1)"}
SELECT (r).id, (r)."Name" FROM r ORDER BY 1;
--> 1|a "b"
--> 2|NULL
SELECT row_to_json(t) FROM (SELECT 1 AS id) AS t UNION ALL SELECT NULL;
--> {"id":1}
--> NULL
SELECT json_agg(ARRAY[id, id + 1]) FROM r;
--> [[1,2], 
-->  [2,3]]
SELECT jsonb_agg(ARRAY[id, id + 1]) FROM r;
--> [[1, 2], [2, 3]]
SELECT json_object_agg(id, r) FROM r WHERE id = 2;
--> { "2" : {"id":2,"Name":null,"at":null,"c":null,"n":null,"f":null} }
INSERT INTO r VALUES (3, 'z') RETURNING row_to_json(r);
--> {"id":3,"Name":"z","at":null,"c":null,"n":null,"f":null}
UPDATE r SET n = 2 WHERE id = 3 RETURNING to_jsonb(r) - 'at';
--> {"c": null, "f": null, "n": 2.00, "id": 3, "Name": "z"}
-- Rows as values are compared as a whole, rows that are written out value by value.
CREATE TABLE p (a int, b int);
CREATE TABLE q (a int, b int);
INSERT INTO p VALUES (1, NULL), (1, 2), (2, NULL), (NULL, NULL);
INSERT INTO q VALUES (1, NULL), (1, 3), (NULL, NULL);
SELECT p, q, p = q, p <> q, p < q, p IS DISTINCT FROM q FROM p, q ORDER BY p, q;
--> (1,2)|(1,3)|f|t|t|t
--> (1,2)|(1,)|f|t|t|t
--> (1,2)|(,)|f|t|t|t
--> (1,)|(1,3)|f|t|f|t
--> (1,)|(1,)|t|f|f|f
--> (1,)|(,)|f|t|t|t
--> (2,)|(1,3)|f|t|f|t
--> (2,)|(1,)|f|t|f|t
--> (2,)|(,)|f|t|t|t
--> (,)|(1,3)|f|t|f|t
--> (,)|(1,)|f|t|f|t
--> (,)|(,)|t|f|f|f
SELECT p FROM p ORDER BY p DESC;
--> (,)
--> (2,)
--> (1,)
--> (1,2)
SELECT p FROM p WHERE p IN (SELECT q FROM q) ORDER BY 1;
--> (1,)
--> (,)
SELECT p FROM p WHERE p NOT IN (SELECT q FROM q) ORDER BY 1;
--> (1,2)
--> (2,)
SELECT p FROM p WHERE (a, b) IN (SELECT a, b FROM q) ORDER BY 1;
SELECT p FROM p WHERE (a, b) NOT IN (SELECT a, b FROM q) ORDER BY 1;
SELECT ROW(1, NULL) = ROW(1, NULL), ROW(1, NULL) = ROW(2, NULL), ROW(1, NULL) IS DISTINCT FROM ROW(1, NULL), ROW(1, 2) < ROW(1, NULL);
--> NULL|f|f|NULL
SELECT p = ROW(1, NULL::int) FROM p ORDER BY p;
--> f
--> t
--> f
--> f
SELECT p IN (ROW(1, 2), ROW(2, NULL::int)) FROM p ORDER BY p;
--> t
--> f
--> t
--> f
SELECT p IS NULL, p IS NOT NULL FROM p ORDER BY p;
--> f|t
--> f|f
--> f|f
--> t|f
SELECT count(DISTINCT p), max(a) FROM (TABLE p UNION ALL TABLE p) AS p;
--> 4|2
SELECT p, count(*) FROM (TABLE p UNION ALL TABLE p) AS p GROUP BY p ORDER BY p;
--> (1,2)|2
--> (1,)|2
--> (2,)|2
--> (,)|2
SELECT CASE p WHEN ROW(1, 2) THEN 'x' ELSE 'y' END FROM p ORDER BY p;
--> x
--> y
--> y
--> y
SELECT nullif(p, q) FROM p, q ORDER BY p, q;
--> (1,2)
--> (1,2)
--> (1,2)
--> (1,)
--> NULL
--> (1,)
--> (2,)
--> (2,)
--> (2,)
--> (,)
--> (,)
--> NULL
SELECT p = r FROM p, r;
--! 42804
SELECT p = s FROM p, (SELECT 1::bigint AS a, 2 AS b) AS s;
--! 42804
-- A row that an outer join has not found is NULL.
SELECT p, q, q IS NULL, row_to_json(q) FROM p LEFT JOIN q ON p.a = q.a AND p.b IS NULL ORDER BY p, q;
--> (1,2)|NULL|t|NULL
--> (1,)|(1,3)|f|{"a":1,"b":3}
--> (1,)|(1,)|f|{"a":1,"b":null}
--> (2,)|NULL|t|NULL
--> (,)|NULL|t|NULL
SELECT p, q FROM p RIGHT JOIN q ON p.a = q.a AND p.b = 2 ORDER BY q, p;
--> (1,2)|(1,3)
--> (1,2)|(1,)
--> NULL|(,)
SELECT json_agg(q) FROM p LEFT JOIN q ON q.a = 17;
--> [null, null, null, null]
SELECT coalesce(s, ROW(7, 8)) FROM p LEFT JOIN (SELECT a, b FROM q WHERE a = 1) AS s ON s.b = p.b ORDER BY 1;
--> (7,8)
--> (7,8)
--> (7,8)
--> (7,8)
SELECT coalesce(q, o) FROM p LEFT JOIN q ON p.a = q.a AND p.b IS NULL CROSS JOIN (SELECT * FROM q WHERE b = 3) AS s JOIN q AS o ON o.b = s.b ORDER BY 1;
--> (1,3)
--> (1,3)
--> (1,3)
--> (1,3)
--> (1,)
