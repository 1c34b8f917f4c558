-- Values of char(n): blanks at their end, which most functions do not see.
CREATE TABLE ch (id int PRIMARY KEY, c char(5), v varchar(5), t text);
INSERT INTO ch VALUES (1, 'ab', 'ab', 'ab'), (2, 'ab  ', 'ab  ', 'ab  '), (3, '', '', ''), (4, NULL, NULL, NULL), (5, 'abcde', 'abcde', 'abcde');
SELECT id, c, length(c), octet_length(c), char_length(c), bit_length(c), '[' || c || ']', c || c, c::text || '!' FROM ch ORDER BY id;
--> 1|ab   |2|5|2|16|[ab]|abab|ab!
--> 2|ab   |2|5|2|16|[ab]|abab|ab!
--> 3|     |0|5|0|0|[]||!
--> 4|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL
--> 5|abcde|5|5|5|40|[abcde]|abcdeabcde|abcde!
SELECT id, c LIKE 'ab', c LIKE 'ab   ', c LIKE 'ab%', c LIKE '%b', c LIKE '_____', c ~ 'ab$', c ~ '^ab *$', c SIMILAR TO 'ab   ', c ILIKE 'AB   ' FROM ch ORDER BY id;
--> 1|f|t|t|f|t|f|t|t|t
--> 2|f|t|t|f|t|f|t|t|t
--> 3|f|f|f|f|t|f|f|f|f
--> 4|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL
--> 5|f|f|t|f|t|f|f|f|f
SELECT id, c = 'ab', c = 'ab  ', c = t, c = v, t = c, v = c, c = 'ab '::text, c = 'ab '::varchar, c = 'ab '::char(4), c < 'abc', c <> t FROM ch ORDER BY id;
--> 1|t|t|t|t|t|t|f|t|t|t|f
--> 2|t|t|f|t|f|t|f|t|t|t|t
--> 3|f|f|t|t|t|t|f|f|f|t|f
--> 4|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL
--> 5|f|f|t|t|t|t|f|f|f|f|f
SELECT id, c IN ('ab', 'x'), c IN ('ab '::text), c = ANY (ARRAY['ab']), c = ANY (ARRAY['ab ']::text[]), t IN (SELECT c FROM ch), c IN (SELECT t FROM ch), v IN ('ab '::char(4)) FROM ch ORDER BY id;
--> 1|t|f|t|f|t|t|t
--> 2|t|f|t|f|NULL|t|t
--> 3|f|f|f|f|t|t|f
--> 4|NULL|NULL|NULL|NULL|NULL|NULL|NULL
--> 5|f|f|f|f|t|t|f
SELECT c::text, c::varchar, c::char(7), c::char(3), c::varchar(3), length(c::char(7)), octet_length(c::char(7)), c::char FROM ch WHERE id = 1;
--> ab|ab|ab     |ab |ab|2|7|a
SELECT upper(c), upper(c) || '|', initcap(c), reverse(c), replace(c, ' ', '_'), substr(c, 1, 4) || '|', substring(c from 2 for 3) || '|', left(c, 3) || '|', right(c, 2) || '|' FROM ch WHERE id = 1;
--> AB|AB||Ab|ba|ab|ab||b||ab||ab|
SELECT lpad(c, 7, '*'), rpad(c, 7, '*'), position('b' in c), strpos(c, ' '), trim(c) || '|', rtrim(c) || '|', repeat(c, 2), md5(c), ascii(c), quote_literal(c), concat(c, '|'), concat_ws('-', c, 'x'), format('%s|', c) FROM ch WHERE id = 1;
--> *****ab|ab*****|2|0|ab||ab||abab|187ef4436122d1cc2f40dc2b92f0eba0|97|'ab'|ab   ||ab   -x|ab   |
SELECT to_json(c), to_jsonb(c), json_build_array(c), string_agg(c, ','), ARRAY[c], ROW(c) FROM ch WHERE id = 1 GROUP BY c;
--> "ab   "|"ab   "|["ab   "]|ab|{"ab   "}|("ab   ")
SELECT min(c) || '|', max(c) || '|' FROM ch;
--> ||abcde|
SELECT coalesce(c, 'x') || '|', CASE WHEN true THEN c END || '|', coalesce(t, c) || '|', coalesce(c, t) || '|', nullif(c, 'ab') || '|', greatest(c, 'a') || '|' FROM ch WHERE id IN (1, 2) ORDER BY id;
--> ab||ab||ab||ab||NULL|ab|
--> ab||ab||ab  ||ab||NULL|ab|
SELECT DISTINCT c FROM ch ORDER BY c;
-->      
--> ab   
--> abcde
--> NULL
SELECT count(*) FROM (SELECT c FROM ch UNION SELECT t FROM ch) x;
--> 4
SELECT c || '|' FROM (SELECT c FROM ch WHERE id = 1 UNION ALL SELECT t FROM ch WHERE id = 2) x;
--> ab|
--> ab|
SELECT 'a '::char(3) = 'a', 'a '::char(3) || 'b', 'a'::char(3) = 'a  '::text, 'a'::bpchar || 'b', length('a  '::bpchar), 'a  '::bpchar || 'b', 'a  '::bpchar = 'a';
--> t|ab|f|ab|1|ab|t
SELECT 'abc'::char(2), 'a'::char(2) < 'a'::char(3), pg_typeof(c || 'x'), pg_typeof(c), pg_typeof(coalesce(c, 'x')), pg_typeof(min(c)) FROM ch WHERE id = 1 GROUP BY c;
--> ab|f|text|character|character|character
SELECT a.id, b.id FROM ch a JOIN ch b ON a.c = b.t ORDER BY 1, 2;
--> 1|1
--> 2|1
--> 3|3
--> 5|5
SELECT a.id, b.id FROM ch a JOIN ch b ON a.c = b.v ORDER BY 1, 2;
--> 1|1
--> 1|2
--> 2|1
--> 2|2
--> 3|3
--> 5|5
SELECT a.id, b.id FROM ch a JOIN ch b ON a.c = b.c ORDER BY 1, 2;
--> 1|1
--> 1|2
--> 2|1
--> 2|2
--> 3|3
--> 5|5
INSERT INTO ch (id, t, v) SELECT id + 10, c, c FROM ch WHERE id = 1 RETURNING t || '|', v || '|';
--> ab||ab|
INSERT INTO ch (id, c) VALUES (20, 'abcdef');
--! 22001
INSERT INTO ch (id, c) VALUES (20, 'abcde   ') RETURNING c || '|';
--> abcde|
UPDATE ch SET t = c, v = c WHERE id = 2 RETURNING t || '|', v || '|';
--> ab||ab|
SELECT string_to_array(c, 'b'), split_part(c, 'b', 2) || '|', translate(c, ' ', '_'), regexp_replace(c, ' ', '_', 'g'), c::bytea, overlay(c placing 'x' from 4) || '|', starts_with(c, 'ab ') FROM ch WHERE id = 1;
--> {a,""}|||ab|ab|\x6162202020|abx||f
SELECT row_to_json(ch) FROM ch WHERE id = 1;
--> {"id":1,"c":"ab   ","v":"ab","t":"ab"}
SELECT 'x' || 'a'::char(3) || 'y', 'a'::char(3)::text || 'y', concat('a'::char(3), 'y'), 5 || 'a'::char(3), 'a'::char(3) || 5;
--> xay|ay|a  y|5a|a5
SELECT 'ab'::char(4) LIKE 'ab', 'ab'::char(4) LIKE 'ab  ', 'ab'::char(4)::text LIKE 'ab';
--> f|t|t
SELECT CAST('a' AS char(3)) IN ('a', 'b'), CAST('a' AS char(3)) BETWEEN 'a' AND 'a';
--> t|t
SELECT '1 '::char(2)::int, 't '::char(2)::boolean, 5::char(3) || '|', 1.5::char(5) || '|', true::char(5) || '|';
--> 1|t|5||1.5||true|
