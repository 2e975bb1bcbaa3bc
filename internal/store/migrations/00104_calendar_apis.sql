-- +goose Up
-- Calendars that are read through the API of a provider.
ALTER TABLE calendars ADD COLUMN provider TEXT NOT NULL DEFAULT 'feed'; -- or google, microsoft
ALTER TABLE calendars ADD COLUMN revoked BIGINT NOT NULL DEFAULT 0;     -- 1: the owner has to give permission again
ALTER TABLE calendars ADD COLUMN watch TEXT NOT NULL DEFAULT '{}';      -- the provider's notifications

-- +goose Down
ALTER TABLE calendars DROP COLUMN watch;
ALTER TABLE calendars DROP COLUMN revoked;
ALTER TABLE calendars DROP COLUMN provider;
