-- The latest result of each session. The table outlives the program, so that a late
-- writer is refused also after everything else was restarted.
SELECT pg_advisory_xact_lock(20261128); -- two writers may start at once
CREATE TABLE IF NOT EXISTS leasehold_results (
    session  text   PRIMARY KEY,
    token    bigint NOT NULL,
    sequence bigint NOT NULL,
    event    json   NOT NULL -- jsonb holds no \u0000, which an answer may have
);
