CREATE TABLE author (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date DEFAULT '2000-01-01', rating numeric(4,2) DEFAULT 1.5 CHECK (rating >= 0), tags text[], active boolean DEFAULT true);
CREATE TABLE book (isbn char(13), edition int, title text NOT NULL DEFAULT 'untitled', price numeric(8,2), PRIMARY KEY (isbn, edition), CHECK (price > 0 AND price < 1000));
CREATE INDEX book_price ON book (price);
CREATE UNIQUE INDEX book_title ON book (title, price);
CREATE SEQUENCE numbers INCREMENT 2 START 5 CACHE 32;
COMMENT ON TABLE book IS 'books';
COMMENT ON COLUMN book.title IS 'the title';
