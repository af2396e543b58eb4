"""Cases from the field: what people who run such systems have reported, each with the outcome that is right here."""
