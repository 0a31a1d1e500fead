select dibs.cancel_batch(:id);
