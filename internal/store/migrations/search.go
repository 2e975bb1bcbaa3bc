package migrations

// searchSQLite creates the full-text index of search_texts on SQLite, which triggers keep up to date.
const searchSQLite = `
CREATE VIRTUAL TABLE search_texts_words USING fts5(owner, speaker, text, content='search_texts', content_rowid='id',
tokenize='unicode61 remove_diacritics 2', prefix='3 4 5 6');
CREATE TRIGGER search_texts_inserted AFTER INSERT ON search_texts BEGIN
    INSERT INTO search_texts_words (rowid, owner, speaker, text) VALUES (new.id, new.owner, new.speaker, new.text);
END;
CREATE TRIGGER search_texts_deleted AFTER DELETE ON search_texts BEGIN
    INSERT INTO search_texts_words (search_texts_words, rowid, owner, speaker, text)
VALUES ('delete', old.id, old.owner, old.speaker, old.text);
END`
