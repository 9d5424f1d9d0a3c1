create table item(id integer primary key, part int, name text);
with recursive row(i) as (select 1 union all select i + 1 from row where i < 350000)
  insert into item select i, (i * 7907) % 10009, 'n' || (i * 29 % 991) from row;
create index item_part on item(part);
select count(*), sum(part) from item where name like '%9%';
select name, count(*), avg(part) from item group by name order by 2 desc, 1 limit 3;
select count(*) from item a join item b on a.part = b.id where b.name > 'n5';
update item set part = part + 1 where id % 3 = 0;
select sum(part) from item;
