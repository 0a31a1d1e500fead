select dibs.close_batch(:id);
