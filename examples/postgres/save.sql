-- Stores a result unless the session has one of a higher token, or of the same token
-- and the same or a higher sequence. The database compares and writes in one step, so
-- it does not matter when the writer last looked.
INSERT INTO leasehold_results AS present (session, token, sequence, event)
VALUES ($1, $2, $3, $4)
ON CONFLICT (session) DO UPDATE
    SET token = excluded.token, sequence = excluded.sequence, event = excluded.event
    WHERE (present.token, present.sequence) < (excluded.token, excluded.sequence);
