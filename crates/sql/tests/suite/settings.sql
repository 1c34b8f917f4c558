-- Settings: units, zones, blocks, what is reset.
SET lock_timeout = '1.5s';
SHOW lock_timeout;
--> 1500ms
SET lock_timeout = 1500;
SHOW lock_timeout;
--> 1500ms
SET statement_timeout = '2min';
SHOW statement_timeout;
--> 2min
SET statement_timeout = '90s';
SHOW statement_timeout;
--> 90s
SET statement_timeout = '3600000';
SHOW statement_timeout;
--> 1h
SET statement_timeout = '0.5h';
SHOW statement_timeout;
--> 30min
SET statement_timeout = '1d';
SHOW statement_timeout;
--> 1d
SET statement_timeout = '10 us';
SHOW statement_timeout;
--> 0
SET statement_timeout = '1.7ms';
SHOW statement_timeout;
--> 2ms
SET statement_timeout = -1;
--! 22023
SET statement_timeout = 'soon';
--! 22023
SET statement_timeout = '5 parsecs';
--! 22023
SET statement_timeout = '30d';
--! 22023
SET statement_timeout = DEFAULT;
SHOW statement_timeout;
--> 0
SET work_mem = '64MB';
SHOW work_mem;
--> 64MB
SET work_mem = 4096;
SHOW work_mem;
--> 4MB
SET work_mem = '1.5GB';
SHOW work_mem;
--> 1536MB
SET work_mem = '1 kB';
--! 22023
SET work_mem = '128 kB';
SHOW work_mem;
--> 128kB
RESET work_mem;
SET TIME ZONE 'Europe/Berlin';
SHOW TIME ZONE;
--> Europe/Berlin
SHOW timezone;
--> Europe/Berlin
SET TIME ZONE 2;
SHOW timezone;
--> <+02>-02
SET TIME ZONE -3.5;
SHOW timezone;
--> <-03:30>+03:30
SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE;
SHOW timezone;
--> <-08>+08
SET TIME ZONE DEFAULT;
SET TIME ZONE 'UTC';
SHOW timezone;
--> UTC
SET TIME ZONE 'Nowhere/None';
--! 22023
SET timezone TO 'America/New_York';
SHOW timezone;
--> America/New_York
RESET timezone;
SET extra_float_digits = 0;
SHOW extra_float_digits;
--> 0
SET extra_float_digits = 4;
--! 22023
SET extra_float_digits = '2';
RESET ALL;
SHOW extra_float_digits;
--> 1
SET application_name = 'me';
SHOW application_name;
--> me
RESET application_name;
SET nosuch = 1;
--! 42704
SET my.setting = 'x';
SHOW my.setting;
--> x
SELECT current_setting('my.setting'), current_setting('my.other', true);
--> x|NULL
SHOW my.other;
--! 42704
RESET my.setting;
SET client_min_messages = 'warning';
SHOW client_min_messages;
--> warning
SET client_min_messages = 'loud';
--! 22023
SET bytea_output = 'escape';
SHOW bytea_output;
--> escape
SET IntervalStyle = 'postgres';
SET standard_conforming_strings = on;
SHOW standard_conforming_strings;
--> on
SET standard_conforming_strings = maybe;
--! 22023
SET default_transaction_isolation = 'read committed';
SET server_version = '9';
--! 55P02
SET SESSION lock_timeout TO '2s';
SHOW lock_timeout;
--> 2s
BEGIN;
SET LOCAL lock_timeout TO '3s';
SHOW lock_timeout;
--> 3s
COMMIT;
SHOW lock_timeout;
--> 2s
BEGIN;
SET lock_timeout TO '4s';
ROLLBACK;
SHOW lock_timeout;
--> 2s
SELECT set_config('lock_timeout', '5s', false);
--> 5s
SHOW lock_timeout;
--> 5s
SELECT current_setting('lock_timeout');
--> 5s
DISCARD ALL;
SHOW lock_timeout;
--> 0
BEGIN;
DISCARD ALL;
--! 25001
ROLLBACK;
BEGIN;
DISCARD PLANS;
DISCARD SEQUENCES;
DISCARD TEMP;
COMMIT;
SET search_path = a, "B", '$user';
SHOW search_path;
--> a, "B", "$user"
SET search_path TO DEFAULT;
SET LOCAL lock_timeout = 5;
SHOW lock_timeout;
--> 0
SET synchronous_commit = local;
SHOW synchronous_commit;
--> local
SET idle_in_transaction_session_timeout = '10min';
SHOW idle_in_transaction_session_timeout;
--> 10min
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;
SHOW default_transaction_read_only;
--> on
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;
SET TRANSACTION READ ONLY;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SHOW transaction_read_only;
--> on
COMMIT;
BEGIN READ WRITE, ISOLATION LEVEL REPEATABLE READ, NOT DEFERRABLE;
COMMIT;
-- Literals of all forms as values.
set application_name = U&'\0041b';
show application_name;
--> Ab
set application_name to $$dollar$$;
show application_name;
--> dollar
set application_name = $x$tag'ged$x$;
show application_name;
--> tag'ged
set application_name = E'e\x41';
show application_name;
--> eA
set search_path = U&'public', $$Other$$;
show search_path;
--> public, "Other"
reset search_path;
reset application_name;
