-- How an answer writes a time: to_char of a time in UTC with this format.
'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
