-- Functions with an address.
-- reads: function_symbol
-- image_id, symbol, address, size (bytes)
SELECT image_id, coalesce(symbol, name) AS symbol, address, coalesce(size, 0) AS size
FROM function_symbol WHERE address IS NOT NULL AND image_id IS NOT NULL ORDER BY image_id, address;
