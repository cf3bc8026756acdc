-- The database of ask-a-database.yaml, invented: sqlite3 bookshop.sqlite < bookshop.sql
CREATE TABLE books (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    author TEXT NOT NULL,
    genre TEXT NOT NULL,
    price REAL NOT NULL,
    in_stock INTEGER NOT NULL
);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    city TEXT NOT NULL
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    book_id INTEGER NOT NULL REFERENCES books (id),
    quantity INTEGER NOT NULL,
    ordered_on TEXT NOT NULL
);
INSERT INTO books VALUES
    (1, 'The Tide Tables', 'M. Okafor', 'novel', 18.50, 12),
    (2, 'Bread in Nine Lessons', 'L. Varga', 'cooking', 24.00, 3),
    (3, 'A Short History of Long Walks', 'P. Lindqvist', 'travel', 16.90, 0),
    (4, 'Owls of the Old Town', 'S. Marchetti', 'nature', 29.95, 7),
    (5, 'The Lighthouse Ledger', 'M. Okafor', 'novel', 19.90, 1),
    (6, 'Knots for Every Purpose', 'J. Brandt', 'crafts', 14.00, 22),
    (7, 'Winter Soups', 'L. Varga', 'cooking', 21.50, 9),
    (8, 'Maps That Were Wrong', 'P. Lindqvist', 'travel', 26.00, 4);
INSERT INTO customers VALUES
    (1, 'Ines', 'Porto'),
    (2, 'Tomasz', 'Gdynia'),
    (3, 'Aoife', 'Cork'),
    (4, 'Yusuf', 'Izmir'),
    (5, 'Kirsten', 'Gdynia');
INSERT INTO orders VALUES
    (1, 1, 1, 1, '2025-09-03'),
    (2, 2, 4, 2, '2025-09-11'),
    (3, 3, 2, 1, '2025-09-19'),
    (4, 2, 8, 1, '2025-10-02'),
    (5, 4, 1, 3, '2025-10-05'),
    (6, 5, 7, 1, '2025-10-17'),
    (7, 1, 5, 1, '2025-10-21'),
    (8, 3, 3, 2, '2025-11-01'),
    (9, 5, 4, 1, '2025-11-08'),
    (10, 4, 2, 2, '2025-11-12'),
    (11, 2, 1, 1, '2025-11-20'),
    (12, 1, 7, 4, '2025-11-28');
