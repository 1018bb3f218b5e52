CREATE TABLE application_table (id INT PRIMARY KEY);
