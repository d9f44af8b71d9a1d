-- Writes a lexeme as an operand of a tsquery.
-- $lexeme  the lexeme
'''' || replace(replace($lexeme, chr(92), repeat(chr(92), 2)), '''', repeat('''', 2)) || ''''
